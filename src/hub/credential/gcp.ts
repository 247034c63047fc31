import { parseTime } from '../../runtime/clock.ts';
import { isObject, stringAt } from '../../schema/json.ts';
import { bearerToken, type CloudToken, cloudAnswer, parseCloudJson } from './cloud.ts';
import { type Ambient, CredentialError, type CredentialProvider, required } from './credential.ts';

const METADATA = 'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token';
const STS = 'https://sts.googleapis.com/v1/token';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const LEAD_MS = 120_000;
const MAX_LIFETIME_MS = 3_600_000;

/** GKE: a token of the hub's own identity, perhaps in the name of a service account, and the cluster's address. */
export const gcpCredential: CredentialProvider = async ({ ambient, now }, spoke) => {
  if (!ambient) throw new CredentialError('this hub has no way to Google Cloud');
  const arm = (spoke.spec.credential.gcp ?? {}) as Readonly<Record<string, unknown>>;
  const mode = required(arm, 'gcp', 'authMode');
  const [project, location, cluster] = ['projectID', 'location', 'clusterName'].map((field) =>
    encodeURIComponent(required(arm, 'gcp', field)),
  );
  const account = typeof arm['serviceAccountEmail'] === 'string' ? arm['serviceAccountEmail'] : undefined;
  if (mode === 'serviceAccount' && account === undefined) required(arm, 'gcp', 'serviceAccountEmail');
  const own = await ownToken(ambient, now());
  const token = account === undefined ? own : await impersonate(ambient, own, account, now());
  const body = await cloudAnswer(ambient, 'GKE', {
    method: 'GET',
    url: `https://container.googleapis.com/v1/projects/${project}/locations/${location}/clusters/${cluster}`,
    headers: { authorization: `Bearer ${token.token}` },
  });
  const found = parseCloudJson(body, 'GKE');
  const host = stringAt(found, 'endpoint');
  const ca = stringAt(found, 'masterAuth', 'clusterCaCertificate');
  if (host === undefined || ca === undefined)
    throw new CredentialError(`GKE cluster ${cluster} has no endpoint yet`);
  return {
    way: 'direct',
    endpoint: {
      url: `https://${host}`,
      ca: Buffer.from(ca, 'base64').toString('utf8'),
      token: token.token,
    },
    ...(location === undefined ? {} : { region: decodeURIComponent(location) }),
    refreshAt: token.endsAt - LEAD_MS,
  };
};

/** On Google Cloud the metadata server gives a token; elsewhere a federated credential file tells what to exchange. */
async function ownToken(ambient: Ambient, now: number): Promise<CloudToken> {
  const file = ambient.env('GOOGLE_APPLICATION_CREDENTIALS');
  if (file === undefined) {
    const body = await cloudAnswer(ambient, 'Google metadata server', {
      method: 'GET',
      url: METADATA,
      headers: { 'metadata-flavor': 'Google' },
    });
    return bearerToken(body, 'Google metadata server', now);
  }
  const config = parseCloudJson(ambient.readFile(file), 'GOOGLE_APPLICATION_CREDENTIALS');
  const source = config['credential_source'];
  const path = isObject(source) ? source['file'] : undefined;
  const audience = config['audience'];
  if (config['type'] !== 'external_account' || typeof path !== 'string' || typeof audience !== 'string')
    throw new CredentialError(
      'GOOGLE_APPLICATION_CREDENTIALS must be a workload identity federation file (external_account) with a credential_source.file: keys of service accounts are not taken',
    );
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience,
    scope: SCOPE,
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token_type: stringAt(config, 'subject_token_type') ?? 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: ambient.readFile(path).trim(),
  });
  const body = await cloudAnswer(ambient, 'Google STS', {
    method: 'POST',
    url: STS,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  });
  return bearerToken(body, 'Google STS', now);
}

async function impersonate(
  ambient: Ambient,
  own: CloudToken,
  account: string,
  now: number,
): Promise<CloudToken> {
  const body = await cloudAnswer(ambient, 'Google IAM generateAccessToken', {
    method: 'POST',
    url: `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${encodeURIComponent(account)}:generateAccessToken`,
    headers: { authorization: `Bearer ${own.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ scope: [SCOPE] }),
  });
  const answer = parseCloudJson(body, 'Google IAM');
  const token = stringAt(answer, 'accessToken');
  if (token === undefined) throw new CredentialError('Google IAM answered without a token');
  return { token, endsAt: parseTime(stringAt(answer, 'expireTime')) ?? now + MAX_LIFETIME_MS };
}
