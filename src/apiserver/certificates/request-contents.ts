import {
  childrenOf,
  DerError,
  identifierOf,
  OCTET_STRING,
  readDer,
  readElements,
  SEQUENCE,
  SET,
  textOf,
} from './der.ts';

/** What a PKCS#10 request asks for. Nothing of it is proven: whoever signs verifies its signature. */
export interface RequestContents {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Whether the subject names more than one, so that it cannot be told whom it means. */
  readonly ambiguous: boolean;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
}

/** A request that cannot be read. */
export class RequestError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'RequestError';
  }
}

const MAX_CHARACTERS = 64 * 1024;
const PEM = /-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE REQUEST-----/;
const COMMON_NAME = '550403';
const ORGANIZATION = '55040a';
const EXTENSION_REQUEST = '2a864886f70d01090e';
const SUBJECT_ALTERNATIVE_NAME = '551d11';
/** `[0]`: the attributes of a request. */
const ATTRIBUTES = 0xa0;

/** Reads a request (PEM; RFC 2986). Throws {@link RequestError}. */
export function requestContents(pem: string): RequestContents {
  const body = pem.length > MAX_CHARACTERS ? undefined : PEM.exec(pem)?.[1];
  if (body === undefined) throw new RequestError('PEM block type must be CERTIFICATE REQUEST');
  try {
    const [info] = childrenOf(readDer(Buffer.from(body, 'base64')), SEQUENCE);
    const [, subject, , ...attributes] = childrenOf(info, SEQUENCE);
    const names = childrenOf(subject, SEQUENCE).flatMap((set) =>
      childrenOf(set, SET).map((attribute) => {
        const [type, value] = childrenOf(attribute, SEQUENCE);
        return { type: identifierOf(type), value: value };
      }),
    );
    const valuesOf = (type: string): string[] =>
      names.filter((name) => name.type === type).map((name) => textOf(name.value));
    const commonNames = valuesOf(COMMON_NAME);
    return {
      commonName: commonNames[0] ?? '',
      organizations: valuesOf(ORGANIZATION),
      ambiguous: commonNames.length > 1,
      ...alternativeNames(
        attributes.filter(({ tag }) => tag === ATTRIBUTES).flatMap(({ content }) => readElements(content)),
      ),
    };
  } catch (error) {
    if (error instanceof DerError)
      throw new RequestError(`the request is malformed: ${error.message}`, error);
    throw error;
  }
}

type AlternativeNames = Pick<RequestContents, 'dnsNames' | 'ipAddresses' | 'emailAddresses' | 'uris'>;

function alternativeNames(attributes: ReturnType<typeof readElements>): AlternativeNames {
  const found = {
    dnsNames: [] as string[],
    ipAddresses: [] as string[],
    emailAddresses: [] as string[],
    uris: [] as string[],
  };
  for (const attribute of attributes) {
    const [type, values] = childrenOf(attribute, SEQUENCE);
    if (identifierOf(type) !== EXTENSION_REQUEST) continue;
    for (const extension of childrenOf(values, SET).flatMap((list) => childrenOf(list, SEQUENCE))) {
      const [name, ...rest] = childrenOf(extension, SEQUENCE);
      const value = rest.at(-1);
      if (identifierOf(name) !== SUBJECT_ALTERNATIVE_NAME || value?.tag !== OCTET_STRING) continue;
      for (const { tag, content } of childrenOf(readDer(value.content), SEQUENCE)) {
        const bytes = Buffer.from(content);
        if (tag === 0x81) found.emailAddresses.push(bytes.toString('latin1'));
        else if (tag === 0x82) found.dnsNames.push(bytes.toString('latin1'));
        else if (tag === 0x86) found.uris.push(bytes.toString('latin1'));
        else if (tag === 0x87) found.ipAddresses.push(addressText(bytes));
        // A name of a kind that nobody here can judge: whoever looks for such names finds it under the URIs.
        else found.uris.push(`unsupported name of type ${tag & 0x1f}`);
      }
    }
  }
  return found;
}

function addressText(bytes: Buffer): string {
  if (bytes.byteLength === 4) return bytes.join('.');
  if (bytes.byteLength !== 16) throw new DerError('an IP address has 4 or 16 bytes');
  const words: string[] = [];
  for (let at = 0; at < 16; at += 2) words.push(bytes.readUInt16BE(at).toString(16));
  return words.join(':');
}
