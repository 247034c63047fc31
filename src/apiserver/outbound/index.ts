/**
 * Calls of the server to whoever objects of the API name: webhooks, extension API servers, issuers of tokens. Over TLS, with
 * connections that are kept, without following redirects; addresses that lead to the machine's own network rather than to a
 * service (link-local, metadata of clouds, multicast) are refused, whatever name led there.
 */
export {
  type Outbound,
  type OutboundRequest,
  type OutboundTarget,
  outboundConnections,
} from './connections.ts';
export { checkAddress, guardedLookup } from './guarded-lookup.ts';
