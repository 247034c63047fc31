/**
 * What kubelets serve to clients of pods, for pods that are simulated: `log`, `exec`, `attach` and `portforward`.
 *
 * {@link podStreams} answers a request that the pipeline has authenticated, authorized and admitted. Long conversations are
 * responses with a `takeOver`, over whatever two-way stream of bytes it is handed: WebSockets with the channels of
 * `v4` and `v5.channel.k8s.io`, SPDY/3.1 (`spdy/`), and SPDY within WebSockets. All that comes from clients is bounded; a
 * client that breaks the rules or goes away ends its conversation and what runs for it.
 */
export { type PodStreams, podStreams, type StreamSubresource } from './pod-streams.ts';
export type { PodTarget } from './pod-target.ts';
