/**
 * Overrides that stand apart from what sends the objects: the override policies of the hub, for intents of every dialect. They
 * are part of the content of an intent, so a change of one is planned, rolled out and rolled back like any other. Nobody changes
 * by a policy what they may not change at the hub.
 */
export {
  followOverridePolicies,
  installOverridePolicies,
  type OverridePolicies,
} from './override-policies.ts';
