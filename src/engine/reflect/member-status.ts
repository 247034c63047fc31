import type { ObjectRef } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import type { HealthState } from '../health/verdict.ts';

/**
 * What a spoke returns of the status of objects: nothing, what is needed to aggregate the kinds that are known (where nothing is
 * said), or the status of every object as it is.
 */
export type ReturnMode = 'None' | 'Aggregate' | 'Raw';

/** The status of one object on one cluster, as its spoke tells it. */
export interface ReturnedStatus {
  readonly ref: ObjectRef;
  /** Of the object on the cluster, where it counts one. */
  readonly generation?: number;
  readonly health: HealthState;
  readonly status: JsonObject;
  /** Other fields of the object, where they were asked for. */
  readonly fields?: JsonObject;
  /** Set where it is too large to be returned. */
  readonly truncated?: boolean;
}

/** One cluster of those that are to have an object. */
export interface MemberStatus {
  readonly cluster: string;
  /** Whether the newest revision of the object is applied there. */
  readonly applied: boolean;
  /** Absent where nothing of it is known now. */
  readonly returned?: ReturnedStatus;
}
