/**
 * Joining, trust and leaving, as commands. At the hub: `atoll join`, `accept`, `detach`; at a spoke: `atoll spoke --join`,
 * `takeover`, `leave`. What a spoke is told ({@link JoinFile}) is one thing in three forms: a file, a word for a command line, a
 * Secret of the spoke. It says who the hub is, so that the spoke knows whose orders to take before it sees any; several hubs may
 * be known, one owns the spoke ({@link chooseHub}), and only the spoke's owner changes which ({@link handOver}).
 */
export { decideOn } from './accept.ts';
export { type DetachReport, type DetachWish, detachCluster } from './detach.ts';
export { expectSpoke, joinedHub } from './expect-spoke.ts';
export { chooseHub, type HubChoice, type HubChoiceOptions } from './hub-choice.ts';
export { type HubSwitch, type HubSwitchOptions, hubSwitch } from './hub-switch.ts';
export { joinDirectly } from './join-directly.ts';
export { BadJoinFile, type JoinedHub, type JoinFile, joinWord, parseJoin, readJoin } from './join-file.ts';
export { readJoins, saveJoin } from './join-secrets.ts';
export { type Left, leaveHub } from './leave.ts';
export { pinFirst, startSpokeLink } from './spoke-link.ts';
export { AGGREGATE_LABEL, manifestText, spokeManifests } from './spoke-manifests.ts';
export { handOver } from './takeover.ts';
