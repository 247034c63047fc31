/**
 * The subresource `proxy` of Services and Pods: HTTP requests, and connections that become WebSockets, to a port of a simulated
 * container. {@link findTarget} chooses the pod as kube-apiserver does, {@link forwardTo} passes the request on and puts redirects
 * right. Only simulated pods are ever reached: no address of the network that this server itself is in.
 *
 * A proxied request is authorized as the verb of its method on `services/proxy` (`pods/proxy`), under the name as it stands in the
 * path (`https:web:8443`). The client's credential ends at this server.
 */
export { forwardTo, type ProxiedPath, proxiedPath, rewriteLocation } from './forward.ts';
export { type ProxyKind, type ProxyTarget, proxyPods } from './target.ts';
