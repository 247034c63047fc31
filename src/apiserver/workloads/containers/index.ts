/**
 * What goes on in simulated containers when somebody looks: files in memory, a small shell with the usual programs, a log, and
 * ports that answer.
 *
 * Nothing of it exists until it is asked for, all of it is bounded, and it is gone with its container. Logs are not even
 * kept: they are computed from the pod and the time.
 */
export { commandOf, type Execution, type SimulatedContainer } from './container.ts';
export { type ContainerLog, containerLog, LOG, LOG_EVERY, LOG_LINE, type LogLine } from './container-log.ts';
export { answerPort, declaredPorts } from './container-port.ts';
export { containersOf, type PodFacts } from './pod-facts.ts';
export { type Sandboxes, sandboxes, statusOf } from './sandboxes.ts';
export type { TerminalDevice } from './terminal.ts';
