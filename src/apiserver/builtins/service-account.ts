import { asJson, type KubeObject } from '../../kube/object.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { objectsOf, text } from './fields.ts';

export const serviceAccountStrategy: Strategy = strategy({
  returnsDeleted: true,
  prepareForCreate: keepSecretNames,
  prepareForUpdate: keepSecretNames,
});

/** The secrets of an account are those of its namespace: nothing but their names is kept. */
function keepSecretNames(account: KubeObject): void {
  const secrets = objectsOf(account, 'secrets');
  if (secrets.length === 0) return;
  asJson(account).secrets = secrets.map((secret) =>
    text(secret, 'name') === '' ? {} : { name: text(secret, 'name') },
  );
}
