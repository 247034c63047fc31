import { createPrivateKey, createPublicKey, sign, timingSafeEqual, verify } from 'node:crypto';
import { canonicalJson, deepEqual } from '../../schema/json.ts';
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

/**
 * A function that tells whether the key signed a spec. Ed25519 signs the same content in the same way each time, so it signs
 * again and compares, which takes less than half of what verifying takes.
 */
export function dispatchRecogniser(
  privateKey: string,
): (spoke: string, name: string, spec: DispatchSpec) => boolean {
  const key = createPrivateKey(privateKey);
  return (spoke, name, spec) => {
    if (spec.signature === undefined) return false;
    try {
      const given = Buffer.from(spec.signature, 'base64');
      const own = sign(null, signedBytes(spoke, name, spec), key);
      return given.length === own.length && timingSafeEqual(given, own);
    } catch {
      // What cannot be read was not signed.
      return false;
    }
  };
}

export function verifyDispatch(publicKey: string, spoke: string, name: string, spec: DispatchSpec): boolean {
  if (spec.signature === undefined) return false;
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return verify(null, signedBytes(spoke, name, spec), key, Buffer.from(spec.signature, 'base64'));
  } catch {
    // A key or signature that cannot be read is as good as none.
    return false;
  }
}

/** More dispatches than most spokes have; of more, those that were verified first are verified anew. */
const MOST_VERIFIED = 1_000;

/**
 * Verifies as {@link verifyDispatch} does, and remembers what it last found good of each dispatch: most changes of a dispatch are of
 * its status.
 */
export function rememberingVerifier(): typeof verifyDispatch {
  const good = new Map<string, { publicKey: string; spoke: string; spec: DispatchSpec }>();
  return (publicKey, spoke, name, spec) => {
    const known = good.get(name);
    if (known && known.publicKey === publicKey && known.spoke === spoke && deepEqual(known.spec, spec))
      return true;
    if (!verifyDispatch(publicKey, spoke, name, spec)) return false;
    good.delete(name);
    if (good.size >= MOST_VERIFIED) {
      const [oldest] = good.keys();
      if (oldest !== undefined) good.delete(oldest);
    }
    good.set(name, { publicKey, spoke, spec });
    return true;
  };
}

function signedBytes(spoke: string, name: string, spec: DispatchSpec): Buffer {
  const { signature: _signature, ...content } = spec;
  return Buffer.from(canonicalJson({ spoke, name, spec: content }));
}
