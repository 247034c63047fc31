import { KubeconfigError, parseKubeconfig } from '../../kube/kubeconfig.ts';
import { isObject } from '../../schema/json.ts';
import { bearerToken, type CloudToken, cloudAnswer, parseCloudJson } from './cloud.ts';
import { type Ambient, CredentialError, type CredentialProvider, required } from './credential.ts';

/** The application that every AKS cluster with Entra ID accepts tokens for (Azure's published constant). */
const AKS_SERVER = '6dae42f8-4368-4678-94ff-3960e28e3630';
const MANAGEMENT = 'https://management.azure.com';
const API_VERSION = '2024-09-01';
/** Where a machine of Azure is told its managed identity; fixed, never taken from an object. */
const METADATA = 'http://169.254.169.254/metadata/identity/oauth2/token';
const LEAD_MS = 120_000;

/** AKS: a token of the hub's own identity for the cluster, and the cluster's address from the resource manager. */
export const azureCredential: CredentialProvider = async ({ ambient, now }, spoke) => {
  if (!ambient) throw new CredentialError('this hub has no way to Azure');
  const arm = (spoke.spec.credential.azure ?? {}) as Readonly<Record<string, unknown>>;
  const mode = required(arm, 'azure', 'authMode');
  const path = ['subscriptionID', 'resourceGroup', 'clusterName'].map((field) =>
    encodeURIComponent(required(arm, 'azure', field)),
  );
  const token = mode === 'workloadIdentity' ? workloadToken : managedToken;
  const manage = await token(ambient, arm, MANAGEMENT, now());
  const body = await cloudAnswer(ambient, 'AKS listClusterUserCredential', {
    method: 'POST',
    url: `${MANAGEMENT}/subscriptions/${path[0]}/resourceGroups/${path[1]}/providers/Microsoft.ContainerService/managedClusters/${path[2]}/listClusterUserCredential?api-version=${API_VERSION}`,
    headers: { authorization: `Bearer ${manage.token}`, 'content-length': '0' },
  });
  const access = await token(ambient, arm, AKS_SERVER, now());
  return {
    way: 'direct',
    endpoint: { ...serverOf(body), token: access.token },
    refreshAt: access.endsAt - LEAD_MS,
  };
};

type TokenSource = (
  ambient: Ambient,
  arm: Readonly<Record<string, unknown>>,
  resource: string,
  now: number,
) => Promise<CloudToken>;

/** Workload identity: the service account token of the hub, exchanged at Entra ID. */
const workloadToken: TokenSource = async (ambient, arm, resource, now) => {
  const tenant = fieldOr(arm, 'tenantID', ambient.env('AZURE_TENANT_ID'));
  const clientId = fieldOr(arm, 'clientID', ambient.env('AZURE_CLIENT_ID'));
  const file = ambient.env('AZURE_FEDERATED_TOKEN_FILE');
  if (tenant === undefined || clientId === undefined || file === undefined)
    throw new CredentialError(
      'authMode workloadIdentity needs AZURE_FEDERATED_TOKEN_FILE in the hub, and a tenant and client: label its pod azure.workload.identity/use=true',
    );
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    scope: `${resource}/.default`,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: ambient.readFile(file).trim(),
  });
  const body = await cloudAnswer(ambient, 'Entra ID', {
    method: 'POST',
    url: `https://login.microsoftonline.com/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  });
  return bearerToken(body, 'Entra ID', now);
};

/** Managed identity: the machine's metadata service hands out tokens. */
const managedToken: TokenSource = async (ambient, arm, resource, now) => {
  const clientId = fieldOr(arm, 'clientID', undefined);
  const query = new URLSearchParams({
    'api-version': '2018-02-01',
    resource,
    ...(clientId === undefined ? {} : { client_id: clientId }),
  });
  const body = await cloudAnswer(ambient, 'Azure managed identity', {
    method: 'GET',
    url: `${METADATA}?${query.toString()}`,
    headers: { metadata: 'true' },
  });
  return bearerToken(body, 'Azure managed identity', now);
};

function serverOf(body: string): { url: string; ca: string } {
  const kubeconfigs = parseCloudJson(body, 'AKS')['kubeconfigs'];
  const first: unknown = Array.isArray(kubeconfigs) ? kubeconfigs[0] : undefined;
  const value = isObject(first) ? first['value'] : undefined;
  if (typeof value !== 'string') throw new CredentialError('AKS answered without a kubeconfig');
  try {
    const { clusters } = parseKubeconfig(Buffer.from(value, 'base64').toString('utf8'));
    const cluster = clusters[0]?.cluster;
    const url = cluster?.server;
    const ca = cluster?.['certificate-authority-data'];
    if (url === undefined || ca === undefined)
      throw new CredentialError('the kubeconfig of AKS names no server or no authority');
    return { url, ca: Buffer.from(ca, 'base64').toString('utf8') };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new CredentialError(`AKS: ${error.message}`);
    throw error;
  }
}

function fieldOr(
  arm: Readonly<Record<string, unknown>>,
  field: string,
  other: string | undefined,
): string | undefined {
  const value = arm[field];
  return typeof value === 'string' && value !== '' ? value : other;
}
