import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import type { Problems } from './field-checks.ts';
import { forbidden } from './field-errors.ts';
import { objectsOf } from './fields.ts';

/** Where objects have the spec of pods, by resource. */
export const POD_SPECS: Readonly<Record<string, readonly string[]>> = {
  pods: ['spec'],
  podtemplates: ['template', 'spec'],
  replicationcontrollers: ['spec', 'template', 'spec'],
  'apps/deployments': ['spec', 'template', 'spec'],
  'apps/daemonsets': ['spec', 'template', 'spec'],
  'apps/replicasets': ['spec', 'template', 'spec'],
  'apps/statefulsets': ['spec', 'template', 'spec'],
  'batch/jobs': ['spec', 'template', 'spec'],
  'batch/cronjobs': ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
};
const ROLES: readonly string[] = ['containers', 'initContainers', 'ephemeralContainers'];

/** The behaviour of a resource on a server that has no privileged containers. */
export function withoutPrivileged(group: string, resource: string, strategy: Strategy): Strategy {
  const path = POD_SPECS[group === '' ? resource : `${group}/${resource}`];
  if (path === undefined) return strategy;
  const { validate, validateUpdate, validateSubresourceUpdate } = strategy;
  return {
    ...strategy,
    validate: (object) => [...(validate?.(object) ?? []), ...privilegedProblems(object, path)],
    ...(validateUpdate
      ? {
          validateUpdate: (object, old) => [
            ...validateUpdate(object, old),
            ...privilegedProblems(object, path),
          ],
        }
      : {}),
    ...(validateSubresourceUpdate
      ? {
          validateSubresourceUpdate: (subresource, object, old) => {
            const problems = validateSubresourceUpdate(subresource, object, old);
            // Containers that are added in this way must keep to it as any others.
            return problems && [...problems, ...privilegedProblems(object, path, ['ephemeralContainers'])];
          },
        }
      : {}),
  };
}

function privilegedProblems(
  object: unknown,
  path: readonly string[],
  roles: readonly string[] = ROLES,
): Problems {
  const spec: JsonObject | undefined = isObject(object) ? objectAt(object, ...path) : undefined;
  const hosts = hostProcessProblems(spec, path.join('.'));
  return roles
    .flatMap((role) =>
      objectsOf(spec, role).flatMap((container, index) =>
        objectAt(container, 'securityContext')?.privileged === true
          ? [
              forbidden(
                `${path.join('.')}.${role}[${index}].securityContext.privileged`,
                'disallowed by cluster policy',
              ),
            ]
          : [],
      ),
    )
    .concat(hosts);
}

/** A process of a Windows host is privileged in its own way; one is enough. */
function hostProcessProblems(spec: JsonObject | undefined, path: string): Problems {
  const contexts = [
    objectAt(spec, 'securityContext'),
    ...ROLES.flatMap((role) => objectsOf(spec, role).map((item) => objectAt(item, 'securityContext'))),
  ];
  return contexts.some((context) => objectAt(context, 'windowsOptions')?.hostProcess === true)
    ? [forbidden(path, 'hostProcess containers are disallowed by cluster policy')]
    : [];
}
