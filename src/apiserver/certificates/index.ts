/**
 * Certificate signing requests (`certificates.k8s.io/v1`) beyond their form: who may approve and sign, which requests this
 * server approves, signs and removes by itself.
 *
 * A certificate names exactly what the request's subject and names say, after the signer's rules have judged them; its key
 * is proven by the request's signature. What cannot be signed gets the condition `Failed`. Certificates are signed for one
 * logical cluster only, because all of them believe the same authority.
 */
export { certificateApproval, certificateSigning, certificateSubjectRestriction } from './admission.ts';
export { type CertificateControllerOptions, startCertificateController } from './controller.ts';
export { type RequestContents, RequestError, requestContents } from './request-contents.ts';
export {
  CLIENT_SIGNER,
  isOwnSigner,
  KUBELET_CLIENT_SIGNER,
  KUBELET_SERVING_SIGNER,
  LEGACY_SIGNER,
  signerProblem,
} from './signers.ts';
