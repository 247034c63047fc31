import { describe, expect, it } from 'vitest';
import type { KubeconfigUser } from '../../../kube/kubeconfig.ts';
import { webhookCredentials } from './webhook-credentials.ts';

const user = (name: string, content: KubeconfigUser) => ({ name, user: content });
const target = (url: string, cluster = 'root') => ({ url, cluster });

describe('credentials for webhooks', () => {
  const find = webhookCredentials([
    user('hooks.tools.svc', { token: 'one' }),
    user('hooks.tools.svc:8443', { token: 'two' }),
    user('*.tools.svc', { username: 'u', password: 'p' }),
    user('*.example.com', {
      'client-certificate-data': Buffer.from('cert').toString('base64'),
      'client-key-data': Buffer.from('key').toString('base64'),
    }),
    user('*', { token: 'any' }),
  ]);

  it('[V52] are those of the most exact name', () => {
    expect(find(target('https://hooks.tools.svc:443/a?timeout=10s'))).toEqual({
      authorization: 'Bearer one',
    });
    expect(find(target('https://hooks.tools.svc:8443/'))).toEqual({ authorization: 'Bearer two' });
    expect(find(target('https://other.tools.svc/'))).toEqual({
      authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
    });
    expect(find(target('https://a.b.example.com/'))).toEqual({
      certificate: { certificate: 'cert', key: 'key' },
    });
    expect(find(target('https://elsewhere/'))).toEqual({ authorization: 'Bearer any' });
    expect(webhookCredentials([])(target('https://elsewhere/'))).toBeUndefined();
  });

  it('[V77] are not shown to webhooks that a logical cluster names', () => {
    expect(find(target('https://hooks.tools.svc/', 'tenant'))).toBeUndefined();
    expect(find({ url: 'https://hooks.tools.svc/' })).toBeUndefined();
  });

  it.each(['exec', 'auth-provider', 'tokenFile', 'client-key'])('are inline: %s is refused', (field) => {
    expect(() => webhookCredentials([user('*', { [field]: 'x' })])).toThrow(field);
  });
});
