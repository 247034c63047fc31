import { describe, expect, it } from 'vitest';
import type { SpokeCluster, SpokeClusterSpec } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import { presignedUrl, signedHeaders } from './aws-signature.ts';
import type { Ambient, CloudRequest } from './credential.ts';
import { refreshBefore } from './expiry.ts';
import { type Credentials, credentials, type Materialized } from './index.ts';

type CloudCall = Parameters<CloudRequest>[0];

const MINUTE = 60_000;
const CA = 'the authority';
const CA64 = Buffer.from(CA).toString('base64');

interface World {
  now: number;
  readonly calls: CloudCall[];
  readonly secretReads: number;
  credentials: Credentials;
}

interface WorldOptions {
  readonly answers?: Readonly<Record<string, (call: CloudCall) => unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly secret?: () => string;
  readonly ambient?: false;
  readonly resolve?: () => Promise<string[]>;
}

function world(options: WorldOptions = {}): World {
  const calls: CloudCall[] = [];
  let secretReads = 0;
  const ambient: Ambient = {
    request: async (call) => {
      calls.push(call);
      const url = new URL(call.url);
      const answer = options.answers?.[url.host + (url.host.startsWith('sts') ? '' : url.pathname)];
      if (!answer) throw new Error('no such host');
      const value = answer(call);
      return typeof value === 'number'
        ? { status: value, body: '{"error":{"code":"AccessDenied","secret":"hush"}}' }
        : { status: 200, body: JSON.stringify(value) };
    },
    env: (name) => options.env?.[name],
    readFile: (path) => options.files?.[path] ?? '',
  };
  const client = {
    get: async () => {
      secretReads += 1;
      return { data: { kubeconfig: Buffer.from(options.secret?.() ?? '').toString('base64') } };
    },
  } as unknown as Client;
  const made: World = {
    now: Date.parse('2026-03-01T00:00:00Z'),
    calls,
    get secretReads() {
      return secretReads;
    },
    credentials: credentials({
      client,
      now: () => made.now,
      resolve: options.resolve ?? (async () => ['10.0.0.5']),
      rules: {},
      ...(options.ambient === false ? {} : { ambient }),
    }),
  };
  return made;
}

function spoke(credential: SpokeClusterSpec['credential']): SpokeCluster {
  return {
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'SpokeCluster',
    metadata: { name: 'far', namespace: 'fleet', uid: 'u1', generation: 1 },
    spec: { credential },
  };
}

function direct(made: Materialized): Extract<Materialized, { way: 'direct' }> {
  if (made.way !== 'direct') throw new Error(JSON.stringify(made));
  return made;
}

const AWS = spoke({
  type: 'aws',
  aws: {
    authMode: 'irsa',
    clusterName: 'shop',
    region: 'eu-north-1',
    roleArn: 'arn:aws:iam::1:role/spoke',
    externalId: 'x-1',
  },
});
const stsKeys = { AccessKeyId: 'AKIA', SecretAccessKey: 'shh', SessionToken: 'session' };
const awsWorld = (): World =>
  world({
    env: { AWS_ROLE_ARN: 'arn:aws:iam::1:role/hub', AWS_WEB_IDENTITY_TOKEN_FILE: '/token' },
    files: { '/token': 'jwt\n' },
    answers: {
      'sts.eu-north-1.amazonaws.com': ({ body = '' }) => {
        const action = new URLSearchParams(body).get('Action') ?? '';
        return { [`${action}Response`]: { [`${action}Result`]: { Credentials: stsKeys } } };
      },
      'eks.eu-north-1.amazonaws.com/clusters/shop': () => ({
        cluster: {
          endpoint: 'https://abc.gr7.eu-north-1.eks.amazonaws.com',
          certificateAuthority: { data: CA64 },
        },
      }),
    },
  });

describe('credentials of type aws', () => {
  it('[K5] makes a k8s-aws-v1 token for the cluster, due again after 13 minutes', async () => {
    const { credentials: made, calls, now } = awsWorld();
    const found = direct(await made.materialize(AWS));
    expect(found).toMatchObject({
      region: 'eu-north-1',
      refreshAt: now + 13 * MINUTE,
      endpoint: { url: 'https://abc.gr7.eu-north-1.eks.amazonaws.com', ca: CA },
    });
    const token = found.endpoint.token ?? '';
    expect(token).toMatch(/^k8s-aws-v1\.[A-Za-z0-9_-]+$/);
    const url = new URL(Buffer.from(token.slice('k8s-aws-v1.'.length), 'base64url').toString('utf8'));
    expect(url.host).toBe('sts.eu-north-1.amazonaws.com');
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      Action: 'GetCallerIdentity',
      'X-Amz-Expires': '900',
      'X-Amz-SignedHeaders': 'host;x-k8s-aws-id',
      'X-Amz-Security-Token': 'session',
    });
    const assumed = new URLSearchParams(calls[1]?.body);
    expect(Object.fromEntries(assumed)).toMatchObject({
      Action: 'AssumeRole',
      RoleArn: 'arn:aws:iam::1:role/spoke',
      ExternalId: 'x-1',
    });
    expect(calls[1]?.headers?.['authorization']).toContain('/eu-north-1/sts/aws4_request');
  });

  it('[K6] is minted once in 13 minutes, however often the spoke is looked at', async () => {
    const cloud = awsWorld();
    for (let second = 0; second < 13 * 60; second += 30) {
      await cloud.credentials.materialize(AWS);
      cloud.now += 30_000;
    }
    expect(cloud.calls).toHaveLength(3);
    await cloud.credentials.materialize(AWS);
    expect(cloud.calls).toHaveLength(6);
  });

  it('[K7] is minted anew after a 401, and when the SpokeCluster changes', async () => {
    const cloud = awsWorld();
    await cloud.credentials.materialize(AWS);
    cloud.credentials.evict(AWS);
    await cloud.credentials.materialize(AWS);
    expect(cloud.calls).toHaveLength(6);
    await cloud.credentials.materialize({ ...AWS, metadata: { ...AWS.metadata, generation: 2 } });
    expect(cloud.calls).toHaveLength(9);
  });

  it('tells what is missing, and never what is secret', async () => {
    const bare = await world({ env: {} }).credentials.materialize(AWS);
    expect(bare).toMatchObject({ way: 'none', message: expect.stringContaining('AWS_ROLE_ARN') });
    const denied = await world({
      env: { AWS_ROLE_ARN: 'r', AWS_WEB_IDENTITY_TOKEN_FILE: '/token' },
      answers: { 'sts.eu-north-1.amazonaws.com': () => 403 },
    }).credentials.materialize(AWS);
    expect(denied).toEqual({
      way: 'none',
      reason: 'MaterializeFailed',
      message: 'AWS STS AssumeRoleWithWebIdentity answers 403 (AccessDenied)',
    });
    const sly = spoke({ type: 'aws', aws: { ...AWS.spec.credential.aws, region: 'evil.test/' } });
    expect(await awsWorld().credentials.materialize(sly)).toMatchObject({
      message: expect.stringContaining('is not a region'),
    });
  });

  it('[K5] reports NoProvider where the hub cannot ask a cloud', async () => {
    const { credentials: made } = world({ ambient: false });
    for (const type of ['aws', 'azure', 'gcp'] as const)
      expect(await made.materialize(spoke({ type }))).toMatchObject({ reason: 'NoProvider' });
  });
});

describe('AWS signatures', () => {
  const keys = { accessKeyId: 'A', secretAccessKey: 'S' };
  const request = { method: 'GET', url: 'https://h.test/p?b=2&a=1', service: 's', region: 'r' } as const;

  it('depend on everything that is signed', () => {
    const sign = (change: object, with_: object = {}): string =>
      signedHeaders({ ...keys, ...with_ }, { ...request, ...change }, 0)['authorization'] ?? '';
    const all = [
      sign({}),
      sign({ url: 'https://h.test/p?b=2&a=2' }),
      sign({ url: 'https://i.test/p?b=2&a=1' }),
      sign({ method: 'POST' }),
      sign({ region: 'q' }),
      sign({ headers: { 'x-k8s-aws-id': 'c' } }),
      sign({}, { secretAccessKey: 'T' }),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(sign({ url: 'https://h.test/p?a=1&b=2' })).toBe(sign({}));
  });

  it('of a URL hold what is needed to use it', () => {
    const url = new URL(presignedUrl(keys, request, 60, 0));
    expect(url.searchParams.get('X-Amz-Date')).toBe('19700101T000000Z');
    expect(url.searchParams.get('X-Amz-Signature')).toMatch(/^[0-9a-f]{64}$/);
  });
});

const aksKubeconfig = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    { name: 'c', cluster: { server: 'https://shop.azmk8s.io:443', 'certificate-authority-data': CA64 } },
  ],
  users: [{ name: 'u', user: { exec: { command: 'kubelogin' } } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'c',
});
const aks = {
  'management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/shop/listClusterUserCredential':
    () => ({ kubeconfigs: [{ value: Buffer.from(aksKubeconfig).toString('base64') }] }),
};
const azureArm = {
  subscriptionID: 's',
  resourceGroup: 'g',
  clusterName: 'shop',
  tenantID: 't',
  clientID: 'c',
};

describe('credentials of type azure', () => {
  it('[K5] exchanges the token of the hub for one of the cluster', async () => {
    const cloud = world({
      env: { AZURE_FEDERATED_TOKEN_FILE: '/token' },
      files: { '/token': 'jwt' },
      answers: {
        ...aks,
        'login.microsoftonline.com/t/oauth2/v2.0/token': ({ body = '' }) => ({
          access_token: `for ${new URLSearchParams(body).get('scope')}`,
          expires_in: 3600,
        }),
      },
    });
    const found = direct(
      await cloud.credentials.materialize(
        spoke({ type: 'azure', azure: { ...azureArm, authMode: 'workloadIdentity' } }),
      ),
    );
    expect(found.endpoint).toMatchObject({ url: 'https://shop.azmk8s.io:443', ca: CA });
    expect(found.endpoint.token).toMatch(/^for 6dae42f8-.*\/\.default$/);
    expect(found.refreshAt).toBe(cloud.now + 58 * MINUTE);
  });

  it('[K5] asks the metadata service with a managed identity', async () => {
    const cloud = world({
      answers: {
        ...aks,
        '169.254.169.254/metadata/identity/oauth2/token': ({ url }) => ({
          access_token: new URL(url).searchParams.get('resource'),
          expires_in: '600',
        }),
      },
    });
    const found = direct(
      await cloud.credentials.materialize(
        spoke({ type: 'azure', azure: { ...azureArm, authMode: 'managedIdentity' } }),
      ),
    );
    expect(found.endpoint.token).toMatch(/^6dae42f8/);
  });
});

const gke = {
  'container.googleapis.com/v1/projects/p/locations/europe-north1/clusters/shop': () => ({
    endpoint: '34.1.2.3',
    masterAuth: { clusterCaCertificate: CA64 },
  }),
};
const gcpArm = { projectID: 'p', location: 'europe-north1', clusterName: 'shop' };

describe('credentials of type gcp', () => {
  it('[K5] uses the token of the metadata server, or one of the service account that it may act for', async () => {
    const cloud = world({
      answers: {
        ...gke,
        'metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token': () => ({
          access_token: 'own',
          expires_in: 1800,
        }),
        'iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a%40p.test:generateAccessToken': () => ({
          accessToken: 'acting',
          expireTime: '2026-03-01T00:20:00Z',
        }),
      },
    });
    const federated = spoke({ type: 'gcp', gcp: { ...gcpArm, authMode: 'workloadIdentityFederation' } });
    expect(direct(await cloud.credentials.materialize(federated))).toMatchObject({
      region: 'europe-north1',
      endpoint: { url: 'https://34.1.2.3', token: 'own', ca: CA },
      refreshAt: cloud.now + 28 * MINUTE,
    });
    const acting = spoke({
      type: 'gcp',
      gcp: { ...gcpArm, authMode: 'serviceAccount', serviceAccountEmail: 'a@p.test' },
    });
    cloud.credentials.evict(federated);
    expect(direct(await cloud.credentials.materialize(acting))).toMatchObject({
      endpoint: { token: 'acting' },
      refreshAt: cloud.now + 18 * MINUTE,
    });
  });

  it('takes no key of a service account from a file', async () => {
    const cloud = world({
      env: { GOOGLE_APPLICATION_CREDENTIALS: '/key' },
      files: { '/key': '{"type":"service_account","private_key":"hush"}' },
    });
    const made = await cloud.credentials.materialize(
      spoke({ type: 'gcp', gcp: { ...gcpArm, authMode: 'workloadIdentityFederation' } }),
    );
    expect(made).toMatchObject({ way: 'none', message: expect.stringContaining('external_account') });
    expect(JSON.stringify(made)).not.toContain('hush');
  });
});

describe('credentials of type kubeconfig', () => {
  const jwt = (exp: number): string =>
    `x.${Buffer.from(JSON.stringify({ exp: exp / 1000 })).toString('base64url')}.y`;
  const config = (token: string): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'm',
      contexts: [{ name: 'm', context: { cluster: 'm', user: 'm' } }],
      clusters: [{ name: 'm', cluster: { server: 'https://far.test', 'certificate-authority-data': CA64 } }],
      users: [{ name: 'm', user: { token } }],
    });
  const far = spoke({ type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far' } } });

  it('[K6] are read again two minutes before their token ends', async () => {
    const cloud = world({ secret: () => config(jwt(Date.parse('2026-03-01T00:10:00Z'))) });
    for (let second = 0; second < 8 * 60; second += 30) {
      await cloud.credentials.materialize(far);
      cloud.now += 30_000;
    }
    expect(cloud.secretReads).toBe(1);
    await cloud.credentials.materialize(far);
    expect(cloud.secretReads).toBe(2);
  });

  it('[K6] are read every time where the token does not tell its end', async () => {
    const cloud = world({ secret: () => config('opaque') });
    await cloud.credentials.materialize(far);
    await cloud.credentials.materialize(far);
    expect(cloud.secretReads).toBe(2);
  });

  it('close no way that was good because names cannot be looked up just now', async () => {
    const names: { found: string[] | undefined; server: string } = { found: undefined, server: 'far' };
    const resolve = async (): Promise<string[]> => {
      if (!names.found) throw new Error('SERVFAIL');
      return names.found;
    };
    const secret = (): string => config('opaque').replace('far.test', `${names.server}.test`);
    const { credentials: made } = world({ secret, resolve });
    const isDirect = async (): Promise<boolean> => (await made.materialize(far)).way === 'direct';
    expect(await isDirect()).toBe(false);
    names.found = ['10.0.0.5'];
    expect(await isDirect()).toBe(true);
    names.found = undefined;
    expect(await isDirect()).toBe(true);
    names.server = 'elsewhere';
    expect(await isDirect()).toBe(false);
    names.server = 'far';
    expect(await isDirect()).toBe(false);
    names.found = ['169.254.169.254'];
    expect(await isDirect()).toBe(false);
  });

  it.each([
    ['two minutes before', 600_000, 480_000],
    ['at the end, inside the last two minutes', 60_000, 60_000],
    ['every time, after it', 0, undefined],
    ['every time, without one', undefined, undefined],
  ] as const)('are due %s', (_when, end, due) => {
    expect(refreshBefore(end, 0)).toBe(due);
  });

  it('[K3] must be the only arm', async () => {
    const two = spoke({ type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far' } }, aws: {} });
    expect(await world().credentials.materialize(two)).toMatchObject({
      message: 'spec.credential.aws must not be set with type kubeconfig',
    });
  });
});
