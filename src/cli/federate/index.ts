/**
 * `atoll enable`, `disable` and `federate`: which types are federated, and making federated objects of those that are there. What
 * they do is in functions over a client, so that it is the same in a test as on the command line.
 */
export {
  type DisableOptions,
  disable,
  type EnableOptions,
  enable,
  type FederateCommand,
  federate,
} from './commands.ts';
export {
  carryOut,
  type FederateOptions,
  type FederationPlan,
  planFederation,
  planFiles,
  planManifests,
} from './federate.ts';
export { disableType, enableTypes, type TypeOptions } from './types.ts';
