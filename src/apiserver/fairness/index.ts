/**
 * How many requests are served at once, and whose come next.
 *
 * At most so many requests that read, and so many that write, are in flight; each logical cluster may have as many waiting
 * or served, and hears 429 beyond that. While more than one cluster is active, each begins a few requests in every turn of
 * the event loop and the others wait in the cluster's own queue, so that a flood in one costs the others some requests a
 * turn, however long its queue is. A cluster that is alone begins more, but lets go of the thread just as often.
 */
export {
  type FairQueue,
  type FairQueueOptions,
  fairQueue,
  type Leave,
  type RequestKind,
} from './fair-queue.ts';
