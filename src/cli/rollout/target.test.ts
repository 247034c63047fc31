import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import { errorText } from '../../runtime/log.ts';
import { startApi } from '../fleet.fixture.ts';
import { readTarget } from './target.ts';

let client: Client;
let close: () => Promise<void>;
beforeEach(async () => {
  ({ client, close } = await startApi());
});
afterEach(() => close());

it('says of an object that is not there how to find those that are', async () => {
  const why = await readTarget(client, 'web', 'shop').catch(errorText);
  expect(why).toBe('the hub has no Propagation shop/web; see: kubectl get propagations -A');
});
