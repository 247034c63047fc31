/**
 * `atoll desired`: the objects that a spoke is to have, as its hub ordered them: after overrides and in native form, whether they
 * are there yet or not. Read from the orders and bundles on the spoke itself, so that nothing is guessed. Values of Secrets are
 * digests.
 */
export {
  type DesiredObject,
  type DesiredReport,
  orderedObjects,
  readDesired,
  showDesired,
} from './desired.ts';
