import type { AdmissionPlugin } from '../admission/index.ts';
import { forbiddenStatus } from '../admission/index.ts';
import { type Authorizer, MASTERS_GROUP, resourceAttributes } from '../auth/index.ts';
import type { AdmissionRequest } from '../rest/scope.ts';
import { RequestError } from './request-contents.ts';
import { CLIENT_SIGNER } from './signers.ts';
import {
  CERTIFICATES_GROUP,
  certificateOf,
  conditionOf,
  contentsOf,
  SIGNING_REQUESTS,
  signerOf,
} from './signing-request-object.ts';

function isSigningRequest({ scope }: AdmissionRequest): boolean {
  return scope.resource.group === CERTIFICATES_GROUP && scope.resource.resource === SIGNING_REQUESTS;
}

/** Whoever approves or signs needs the verb for the signer, or for all signers of its domain (`example.com/*`). */
function mayFor(authorizer: Authorizer, verb: string, { scope }: AdmissionRequest, signer: string): boolean {
  const domain = `${signer.slice(0, signer.indexOf('/'))}/*`;
  return [signer, domain].some(
    (name) =>
      authorizer.authorize(
        resourceAttributes(scope.user, scope.cluster, {
          verb,
          group: CERTIFICATES_GROUP,
          version: '*',
          resource: 'signers',
          name,
        }),
      ).allowed,
  );
}

/** `approve` on the signer, for writes to `/approval`. */
export function certificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    validate(request): void {
      if (!isSigningRequest(request) || request.scope.subresource?.name !== 'approval' || !request.old)
        return;
      const signer = signerOf(request.old);
      if (!mayFor(authorizer, 'approve', request, signer)) throw refusal(request, 'approve', signer);
    },
  };
}

/** `sign` on the signer, for writes to `/status` that issue a certificate or say that none will be. */
export function certificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    validate(request): void {
      const { object, old } = request;
      if (!isSigningRequest(request) || request.scope.subresource?.name !== 'status' || !object || !old)
        return;
      const failed = (of: typeof old): boolean => conditionOf(of, 'Failed') !== undefined;
      if (certificateOf(object) === certificateOf(old) && failed(object) === failed(old)) return;
      const signer = signerOf(old);
      if (!mayFor(authorizer, 'sign', request, signer)) throw refusal(request, 'sign', signer);
    },
  };
}

/** Nobody gets a client certificate of the group that may do everything by asking for it. */
export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  validate(request): void {
    const { operation, object } = request;
    if (!isSigningRequest(request) || operation !== 'CREATE' || !object || signerOf(object) !== CLIENT_SIGNER)
      return;
    try {
      if (!contentsOf(object).organizations.includes(MASTERS_GROUP)) return;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      throw forbidden(request, `failed to parse CSR: ${error.message}`);
    }
    throw forbidden(request, `use of ${CLIENT_SIGNER} signer with ${MASTERS_GROUP} group is not allowed`);
  },
};

function refusal(request: AdmissionRequest, verb: string, signer: string): Error {
  return forbidden(
    request,
    `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`,
  );
}

function forbidden({ name }: AdmissionRequest, why: string): Error {
  return forbiddenStatus(CERTIFICATES_GROUP, SIGNING_REQUESTS, name, why);
}
