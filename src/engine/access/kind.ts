import type { CustomKind } from '../../kube/custom-resource.ts';
import {
  conditionsSchema,
  integer,
  labelSelectorSchema,
  list,
  oneOf,
  record,
  text,
} from '../../schema/schema-of.ts';
import { GRANTABLE } from './words.ts';

const NAME = { minLength: 1, maxLength: 253 };

/** For a while, somebody may do more on some clusters than look. */
export const ACCESS_GRANT: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'AccessGrant',
  plural: 'accessgrants',
  shortNames: ['grant'],
  categories: ['atoll'],
  scope: 'Cluster',
  description:
    'Lets a user or group do on some clusters, for some hours, what is asked for with a reason. It counts once it is approved.',
  spec: record(
    {
      user: text('Name at the hub.', { ...NAME, maxLength: 512 }),
      group: text('Group at the hub.', { ...NAME, maxLength: 512 }),
      clusters: record(
        {
          names: list(text(undefined, NAME), 'By name.', { maxItems: 1000 }),
          selector: {
            ...labelSelectorSchema,
            description: 'By the labels of their SpokeCluster. {} selects all.',
          },
        },
        'Where. One that either names or selects.',
      ),
      namespaces: list(text(undefined, NAME), 'In which namespaces; "*" for all, and for what is in none.', {
        minItems: 1,
        maxItems: 100,
      }),
      allow: list(oneOf(GRANTABLE), 'exec (with attach), port-forward, write.', { minItems: 1, maxItems: 3 }),
      reason: text('Why, for whoever approves and whoever reads it later.', {
        minLength: 1,
        maxLength: 1024,
      }),
      expiresAt: text('When it ends: 8 hours after it was made at the latest.', { format: 'date-time' }),
      requestedBy: text('Who made it. Must be the one who does.', { minLength: 1, maxLength: 512 }),
      approvedBy: text(
        'Who approved it. Must be the one who sets it, and hold the verb approve on accessgrants.',
        { minLength: 1, maxLength: 512 },
      ),
    },
    'Who may do what, where, why, until when.',
    {
      required: ['clusters', 'namespaces', 'allow', 'reason', 'expiresAt', 'requestedBy'],
      'x-kubernetes-validations': [
        { rule: 'has(self.user) != has(self.group)', message: 'give either a user or a group' },
        {
          rule: 'has(self.clusters.names) || has(self.clusters.selector)',
          message: 'clusters must be named or selected',
        },
        {
          rule: 'self.requestedBy == oldSelf.requestedBy && self.allow == oldSelf.allow && self.namespaces == oldSelf.namespaces && self.clusters == oldSelf.clusters && self.expiresAt == oldSelf.expiresAt && self.reason == oldSelf.reason && has(self.user) == has(oldSelf.user) && (!has(self.user) || self.user == oldSelf.user) && (!has(self.group) || self.group == oldSelf.group)',
          message: 'a grant is not changed but approved; make another',
        },
        {
          rule: '!has(oldSelf.approvedBy) || (has(self.approvedBy) && self.approvedBy == oldSelf.approvedBy)',
          message: 'an approval stays; delete the grant to revoke it',
        },
      ],
    },
  ),
  status: record({
    state: text('Pending, Live, Expired or Refused.'),
    message: text(),
    uses: integer('Requests and streams that it allowed.', { format: 'int64' }),
    lastUsedAt: text(undefined, { format: 'date-time' }),
    lastUse: text('Who did what where, the last time.'),
    conditions: conditionsSchema,
  }),
  columns: [
    { name: 'User', type: 'string', jsonPath: '.spec.user' },
    { name: 'Group', type: 'string', jsonPath: '.spec.group', priority: 1 },
    { name: 'Allow', type: 'string', jsonPath: '.spec.allow' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Uses', type: 'integer', jsonPath: '.status.uses' },
    { name: 'Approved-By', type: 'string', jsonPath: '.spec.approvedBy' },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt' },
    { name: 'Reason', type: 'string', jsonPath: '.spec.reason', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
