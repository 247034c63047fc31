import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Subject } from './pki.ts';

/** A key and the PKCS#10 request for it, both PEM. */
export interface SigningRequest {
  readonly key: string;
  readonly request: string;
}

/**
 * A request that proves possession of its key: a new one (P-256), or `key` (PEM) when a request is made again. The subject
 * is a wish: the signer decides. Written by hand (RFC 2986): a spoke needs nothing else of X.509 but reading, and the
 * library that writes certificates would take a fifth of its memory. Throws for a key that is not a P-256 private key.
 */
export function signingRequest(subject: Subject, key?: string): SigningRequest {
  const privateKey =
    key === undefined ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : readKey(key);
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const info = sequence(integerZero, name(subject), publicKey, attributesNone);
  const signature = sign('sha256', info, privateKey);
  const request = sequence(info, ecdsaWithSha256, der(BIT_STRING, Buffer.concat([Buffer.of(0), signature])));
  const body = request.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    request: `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`,
  };
}

function readKey(pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new Error(`a P-256 key is expected, not ${key.asymmetricKeyType ?? 'this'}`);
  }
  return key;
}

const BIT_STRING = 0x03;
const OBJECT_IDENTIFIER = 0x06;
const UTF8_STRING = 0x0c;
const SEQUENCE = 0x30;
const SET = 0x31;

const integerZero = Buffer.from('020100', 'hex');
/** `[0]`, implicitly a set, empty. */
const attributesNone = Buffer.from('a000', 'hex');
/** 1.2.840.10045.4.3.2, without parameters (RFC 5758). */
const ecdsaWithSha256 = sequence(der(OBJECT_IDENTIFIER, Buffer.from('2a8648ce3d040302', 'hex')));
const COMMON_NAME = der(OBJECT_IDENTIFIER, Buffer.from('550403', 'hex'));
const ORGANIZATION = der(OBJECT_IDENTIFIER, Buffer.from('55040a', 'hex'));

function name(subject: Subject): Buffer {
  const attribute = (type: Buffer, value: string): Buffer =>
    der(SET, sequence(type, der(UTF8_STRING, Buffer.from(value))));
  return sequence(
    ...(subject.organizations ?? []).map((value) => attribute(ORGANIZATION, value)),
    attribute(COMMON_NAME, subject.commonName),
  );
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(SEQUENCE, Buffer.concat(parts));
}

function der(tag: number, content: Buffer): Buffer {
  const length = content.byteLength;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | bytes.byteLength), bytes, content]);
}
