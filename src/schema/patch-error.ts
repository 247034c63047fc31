/**
 * Why a patch cannot be applied:
 * - `Malformed`: it is not a patch of its kind, whatever it is applied to;
 * - `Unusable`: like it, where the API server answers with an internal error instead of blaming the client;
 * - `TooLarge`: it goes beyond a limit;
 * - `Failed`: it does not fit this document (a missing path, a failed `test`).
 */
export type PatchErrorReason = 'Malformed' | 'Unusable' | 'TooLarge' | 'Failed';

/** Thrown by all patch functions. The message names the operation, the path and the cause. */
export class PatchError extends Error {
  readonly reason: PatchErrorReason;
  /** Where in the document: a JSON pointer for JSON patches, a dotted path for strategic merge patches. */
  readonly path: string;
  /** Which operation of a JSON patch, from 0. */
  readonly index: number | undefined;

  constructor(reason: PatchErrorReason, message: string, where: { path?: string; index?: number } = {}) {
    super(message);
    this.name = 'PatchError';
    this.reason = reason;
    this.path = where.path ?? '';
    this.index = where.index;
  }
}
