import { formatTime } from '../../runtime/index.ts';
import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1035Label, validatePathSegmentName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { fieldSet, initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { dns1123Subdomain, type Problems } from './field-checks.ts';
import { invalidEach, invalidValue, required } from './field-errors.ts';
import {
  assign,
  defaultWhenEmpty,
  defaultWhenNull,
  ensureObject,
  integer,
  isSet,
  objectsOf,
  strings,
  text,
} from './fields.ts';

/**
 * CustomResourceDefinitions: defaults and life. Their validation needs the schema compiler and is laid over this
 * strategy by the room that serves custom resources.
 */
export const customResourceDefinitionStrategy: Strategy = strategy({
  generation: 'spec',
  allowUnconditionalUpdate: false,
  resetFields: { main: fieldSet(['status']), status: fieldSet(['metadata', 'spec']) },
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    const names = ensureObject(spec, 'names');
    const kind = text(names, 'kind');
    if (kind !== '') {
      defaultWhenEmpty(names, 'singular', kind.toLowerCase());
      defaultWhenEmpty(names, 'listKind', `${kind}List`);
    }
    defaultWhenNull(spec, 'conversion', { strategy: 'None' });
    const conversion = objectAt(spec, 'conversion');
    const service = objectAt(conversion, 'webhook', 'clientConfig', 'service');
    if (service) defaultWhenNull(service, 'port', 443);
  },
  prepareForCreate(object) {
    const versions = objectsOf(objectAt(object, 'spec'), 'versions');
    const storage = versions.find((version) => version.storage === true);
    assign(object, 'status', {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: storage ? [text(storage, 'name')] : [],
    });
  },
  prepareForUpdate(object) {
    const spec = objectAt(object, 'spec');
    const storage = objectsOf(spec, 'versions').find((version) => version.storage === true);
    const status = object.status;
    if (!storage || !isObject(status)) return;
    // Objects may have been written in a version from the moment it stores.
    const stored = strings(status, 'storedVersions');
    const name = text(storage, 'name');
    if (!stored.includes(name)) status.storedVersions = [...stored, name];
  },
  prepareForStatusUpdate: keepSpec,
});

/** What this server serves itself is always there. */
function localCondition(now: number): JsonObject {
  return {
    type: 'Available',
    status: 'True',
    lastTransitionTime: formatTime(now),
    reason: 'Local',
    message: 'Local APIServices are always available',
  };
}

export const apiServiceStrategy: Strategy = strategy({
  validateName: validatePathSegmentName,
  allowUnconditionalUpdate: false,
  resetFields: statusResetFields('spec', 'metadata'),
  defaults(object) {
    const service = objectAt(object, 'spec', 'service');
    if (service) defaultWhenNull(service, 'port', 443);
  },
  prepareForCreate(object, context) {
    const local = objectAt(object, 'spec', 'service') === undefined;
    initialStatus(local ? { conditions: [localCondition(context.now)] } : {})(object);
  },
  prepareForStatusUpdate: keepSpec,
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems: Problems = [];
    const group = text(spec, 'group');
    const version = text(spec, 'version');
    const expected = `${version}.${group}`;
    if (object.metadata.name && object.metadata.name !== expected) {
      problems.push(
        invalidValue(
          'metadata.name',
          object.metadata.name ?? '',
          `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`,
        ),
      );
    }
    problems.push(...invalidEach('spec.version', version, validateDns1035Label(version)));
    if (group === '') {
      if (version !== 'v1') {
        problems.push(required('spec.group', 'only v1 may have an empty group and it better be legacy kube'));
      }
    } else problems.push(...dns1123Subdomain(group, 'spec.group'));
    problems.push(...priorityProblems(spec, 'groupPriorityMinimum', 20000));
    problems.push(...priorityProblems(spec, 'versionPriority', 1000));
    const service = objectAt(spec, 'service');
    const servicePort = service === undefined ? undefined : integer(service, 'port');
    if (servicePort !== undefined && (servicePort < 1 || servicePort > 65535)) {
      problems.push(
        invalidValue(
          'spec.service.port',
          servicePort,
          'port is not valid: must be between 1 and 65535, inclusive',
        ),
      );
    }
    const caBundle = isSet(spec.caBundle);
    const insecure = spec.insecureSkipTLSVerify === true;
    if (service === undefined) {
      if (caBundle)
        problems.push(
          invalidValue(
            'spec.caBundle',
            `${Buffer.from(text(spec, 'caBundle'), 'base64').length} bytes`,
            'local APIServices may not have a caBundle',
          ),
        );
      if (insecure) {
        problems.push(
          invalidValue(
            'spec.insecureSkipTLSVerify',
            true,
            'local APIServices may not have insecureSkipTLSVerify',
          ),
        );
      }
      return problems;
    }
    for (const key of ['namespace', 'name']) {
      if (text(service, key) === '') problems.push(required(`spec.service.${key}`));
    }
    if (insecure && caBundle) {
      problems.push(
        invalidValue('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present'),
      );
    }
    return problems;
  },
});

function priorityProblems(spec: JsonObject, key: string, most: number): Problems {
  const value = integer(spec, key) ?? 0;
  return value <= 0 || value > most
    ? [invalidValue(`spec.${key}`, value, `must be positive and less than ${most}`)]
    : [];
}
