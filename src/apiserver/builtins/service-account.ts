import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';

export const serviceAccountStrategy: Strategy = strategy({ returnsDeleted: true });
