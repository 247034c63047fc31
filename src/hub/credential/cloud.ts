import { errorText } from '../../runtime/log.ts';
import { isObject, type JsonObject } from '../../schema/json.ts';
import { type Ambient, CredentialError } from './credential.ts';

/** A token and when it ends, milliseconds since the epoch. */
export interface CloudToken {
  readonly token: string;
  readonly endsAt: number;
}

/** The body of a successful answer. Error texts of a cloud may echo what was sent, so only its status is told. */
export async function cloudAnswer(
  ambient: Ambient,
  what: string,
  request: Parameters<Ambient['request']>[0],
): Promise<string> {
  let answer: Awaited<ReturnType<Ambient['request']>>;
  try {
    answer = await ambient.request(request);
  } catch (error) {
    throw new CredentialError(
      `${what} cannot be reached at ${new URL(request.url).host}: ${errorText(error)}`,
    );
  }
  if (answer.status >= 200 && answer.status < 300) return answer.body;
  throw new CredentialError(`${what} answers ${answer.status}${errorCode(answer.body)}`);
}

export function parseCloudJson(body: string, what: string): JsonObject {
  try {
    const value: unknown = JSON.parse(body);
    if (isObject(value)) return value;
  } catch {
    // Told below: the text itself may hold a secret.
  }
  throw new CredentialError(`${what} answered with something that is not a JSON object`);
}

/** An OAuth token answer (RFC 6749, 5.1). `expires_in` is a number of seconds, at Azure's metadata service a text. */
export function bearerToken(body: string, what: string, now: number): CloudToken {
  const answer = parseCloudJson(body, what);
  const token = answer['access_token'];
  const seconds = Number(answer['expires_in']);
  if (typeof token !== 'string' || !(seconds > 0))
    throw new CredentialError(`${what} answered without a token`);
  return { token, endsAt: now + seconds * 1000 };
}

/** The code of an error (`AccessDenied`, `invalid_client`), where the answer has one. */
function errorCode(body: string): string {
  const found =
    /"(?:Code|__type|error|status|code)"\s*:\s*"([A-Za-z_]{1,60})"|<Code>([A-Za-z]{1,60})<\/Code>/.exec(
      body.slice(0, 4096),
    );
  const code = found?.[1] ?? found?.[2];
  return code === undefined ? '' : ` (${code})`;
}
