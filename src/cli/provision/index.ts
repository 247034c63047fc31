/**
 * Providers of clusters for hubs that are started here. `embedded` makes a spoke on the hub's own machine, a process on an embedded API
 * server, as `atoll up` does.
 */
export { embeddedProvider } from './embedded-provider.ts';
