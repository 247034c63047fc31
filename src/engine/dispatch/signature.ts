import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { canonicalJson } from '../../schema/json.ts';
import type { DispatchSpec } from './dispatch.ts';

/** A function that signs with the key, parsed once. */
export function dispatchSigner(
  privateKey: string,
): (spoke: string, name: string, spec: DispatchSpec) => DispatchSpec {
  const key = createPrivateKey(privateKey);
  return (spoke, name, spec) => ({
    ...spec,
    signature: sign(null, signedBytes(spoke, name, spec), key).toString('base64'),
  });
}

/** A function that verifies as {@link verifyDispatch} does, with the key parsed once. */
export function dispatchVerifier(
  publicKey: string,
): (spoke: string, name: string, spec: DispatchSpec) => boolean {
  let key: KeyObject | undefined;
  return (spoke, name, spec) => {
    if (spec.signature === undefined) return false;
    try {
      key ??= createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
      return verify(null, signedBytes(spoke, name, spec), key, Buffer.from(spec.signature, 'base64'));
    } catch {
      // A key or signature that cannot be read is as good as none.
      return false;
    }
  };
}

export function verifyDispatch(publicKey: string, spoke: string, name: string, spec: DispatchSpec): boolean {
  return dispatchVerifier(publicKey)(spoke, name, spec);
}

function signedBytes(spoke: string, name: string, spec: DispatchSpec): Buffer {
  const { signature: _signature, ...content } = spec;
  return Buffer.from(canonicalJson({ spoke, name, spec: content }));
}
