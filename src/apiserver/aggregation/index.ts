/**
 * Extension API servers: an APIService that names a Service makes this server pass on what is below `/apis/<group>/<version>`,
 * after it has authenticated and authorized the request. The other server learns the user from headers, which it believes
 * because of the front proxy's certificate; what it serves is part of discovery. A server that does not answer costs others
 * nothing: its requests are answered with 503, and its APIService says why.
 */
export { type Aggregation, startAggregation } from './aggregation.ts';
export { FRONT_PROXY_NAME, type FrontProxy, remoteAsker } from './front-proxy.ts';
