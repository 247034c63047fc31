/**
 * Failover, driven: {@link createFailover} tells the state machine of `engine/failover` what the hub sees (taints of clusters,
 * health of copies, decisions), wakes it when time alone matters, and turns what it says into what the next decision has to mind.
 *
 * What is under way is a `FailoverRecord` with each intent, durable before anything is sent: a hub that starts again goes on
 * where it was, neither moving twice nor forgetting a copy that is kept. While the hub only observes, nothing is moved.
 */
export {
  createFailover,
  type Failover,
  type FailoverMind,
  type FailoverOptions,
} from './failover.ts';
