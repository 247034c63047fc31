import { isObject, type JsonObject, stringAt } from '../../schema/json.ts';
import { type AwsKeys, type AwsRequest, presignedUrl, signedHeaders } from './aws-signature.ts';
import { cloudAnswer, parseCloudJson } from './cloud.ts';
import { type Ambient, CredentialError, type CredentialProvider, required } from './credential.ts';

/** What EKS accepts as the age of a token; it is minted anew two minutes before. */
const TOKEN_LIFETIME_MS = 15 * 60_000;
const REFRESH_AFTER_MS = 13 * 60_000;
const PRESIGNED_SECONDS = 900;
const SESSION_NAME = 'atoll-hub';

/**
 * EKS: the hub's own identity assumes the cluster's role, reads endpoint and authority of the cluster, and signs a
 * GetCallerIdentity that the cluster's authenticator carries out (spec chapter 2.3). Nothing is stored.
 */
export const awsCredential: CredentialProvider = async ({ ambient, now }, spoke) => {
  if (!ambient) throw new CredentialError('this hub has no way to AWS');
  const arm = (spoke.spec.credential.aws ?? {}) as Readonly<Record<string, unknown>>;
  const mode = required(arm, 'aws', 'authMode');
  const clusterName = required(arm, 'aws', 'clusterName');
  const region = required(arm, 'aws', 'region');
  const roleArn = required(arm, 'aws', 'roleArn');
  if (!/^[a-z]{2}(-[a-z]+)+-\d+$/.test(region))
    throw new CredentialError(`spec.credential.aws.region ${JSON.stringify(region)} is not a region`);
  const own = mode === 'irsa' ? await webIdentity(ambient, region) : await podIdentity(ambient);
  const externalId = typeof arm['externalId'] === 'string' ? arm['externalId'] : undefined;
  const keys = await assumeRole(ambient, own, region, roleArn, externalId, now());
  const cluster = await describeCluster(ambient, keys, region, clusterName, now());
  const minted = now();
  const url = presignedUrl(
    keys,
    {
      method: 'GET',
      url: `https://sts.${region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15`,
      service: 'sts',
      region,
      headers: { 'x-k8s-aws-id': clusterName },
    },
    PRESIGNED_SECONDS,
    minted,
  );
  return {
    way: 'direct',
    endpoint: { ...cluster, token: `k8s-aws-v1.${Buffer.from(url, 'utf8').toString('base64url')}` },
    region,
    refreshAt: minted + Math.min(REFRESH_AFTER_MS, TOKEN_LIFETIME_MS),
  };
};

/** IAM roles for service accounts: a projected token, exchanged at STS. */
async function webIdentity(ambient: Ambient, region: string): Promise<AwsKeys> {
  const role = ambient.env('AWS_ROLE_ARN');
  const file = ambient.env('AWS_WEB_IDENTITY_TOKEN_FILE');
  if (role === undefined || file === undefined)
    throw new CredentialError(
      'authMode irsa needs AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE in the hub: annotate its service account with eks.amazonaws.com/role-arn',
    );
  const query = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: SESSION_NAME,
    WebIdentityToken: ambient.readFile(file).trim(),
  });
  const body = await cloudAnswer(ambient, 'AWS STS AssumeRoleWithWebIdentity', {
    method: 'POST',
    url: `https://sts.${region}.amazonaws.com/`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: query.toString(),
  });
  return stsKeys(parseCloudJson(body, 'AWS STS'), 'AssumeRoleWithWebIdentity');
}

/** EKS pod identity: an agent on the node hands out keys. */
async function podIdentity(ambient: Ambient): Promise<AwsKeys> {
  const accessKeyId = ambient.env('AWS_ACCESS_KEY_ID');
  const secretAccessKey = ambient.env('AWS_SECRET_ACCESS_KEY');
  const url = ambient.env('AWS_CONTAINER_CREDENTIALS_FULL_URI');
  if (url === undefined && accessKeyId !== undefined && secretAccessKey !== undefined) {
    const sessionToken = ambient.env('AWS_SESSION_TOKEN');
    return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  }
  const file = ambient.env('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  if (url === undefined || file === undefined)
    throw new CredentialError(
      'authMode podIdentity needs the EKS Pod Identity agent (AWS_CONTAINER_CREDENTIALS_FULL_URI) in the hub: associate its service account with a role',
    );
  const body = await cloudAnswer(ambient, 'EKS Pod Identity agent', {
    method: 'GET',
    url,
    headers: { authorization: ambient.readFile(file).trim() },
  });
  const answer = parseCloudJson(body, 'EKS Pod Identity agent');
  return keysOf(answer['AccessKeyId'], answer['SecretAccessKey'], answer['Token']);
}

async function assumeRole(
  ambient: Ambient,
  keys: AwsKeys,
  region: string,
  roleArn: string,
  externalId: string | undefined,
  now: number,
): Promise<AwsKeys> {
  const query = new URLSearchParams({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: roleArn,
    RoleSessionName: SESSION_NAME,
    ...(externalId === undefined ? {} : { ExternalId: externalId }),
  });
  const body = await send(ambient, keys, 'AWS STS AssumeRole', now, {
    method: 'POST',
    url: `https://sts.${region}.amazonaws.com/`,
    service: 'sts',
    region,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: query.toString(),
  });
  return stsKeys(parseCloudJson(body, 'AWS STS'), 'AssumeRole');
}

async function describeCluster(
  ambient: Ambient,
  keys: AwsKeys,
  region: string,
  name: string,
  now: number,
): Promise<{ url: string; ca: string }> {
  const body = await send(ambient, keys, 'EKS DescribeCluster', now, {
    method: 'GET',
    url: `https://eks.${region}.amazonaws.com/clusters/${encodeURIComponent(name)}`,
    service: 'eks',
    region,
  });
  const { cluster } = parseCloudJson(body, 'EKS');
  const url = isObject(cluster) ? stringAt(cluster, 'endpoint') : undefined;
  const ca = isObject(cluster) ? stringAt(cluster, 'certificateAuthority', 'data') : undefined;
  if (url === undefined || ca === undefined)
    throw new CredentialError(`EKS cluster ${name} in ${region} has no endpoint yet`);
  return { url, ca: Buffer.from(ca, 'base64').toString('utf8') };
}

function send(
  ambient: Ambient,
  keys: AwsKeys,
  what: string,
  now: number,
  request: AwsRequest,
): Promise<string> {
  return cloudAnswer(ambient, what, {
    method: request.method,
    url: request.url,
    headers: signedHeaders(keys, request, now),
    ...(request.body === undefined ? {} : { body: request.body }),
  });
}

function stsKeys(answer: JsonObject, action: string): AwsKeys {
  const response = answer[`${action}Response`];
  const result = isObject(response) ? response[`${action}Result`] : undefined;
  const keys = isObject(result) ? result['Credentials'] : undefined;
  if (!isObject(keys)) throw new CredentialError(`AWS STS ${action} answered without credentials`);
  return keysOf(keys['AccessKeyId'], keys['SecretAccessKey'], keys['SessionToken']);
}

function keysOf(accessKeyId: unknown, secretAccessKey: unknown, sessionToken: unknown): AwsKeys {
  if (typeof accessKeyId !== 'string' || typeof secretAccessKey !== 'string')
    throw new CredentialError('AWS answered without keys');
  return { accessKeyId, secretAccessKey, ...(typeof sessionToken === 'string' ? { sessionToken } : {}) };
}
