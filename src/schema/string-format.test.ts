import { expect, it } from 'vitest';
import { hasFormat } from './string-format.ts';

it.each<[string, string[], string[]]>([
  [
    'date-time',
    ['2024-02-29T23:59:59Z', '2024-01-01t00:00:00.123+02:00'],
    ['2023-02-29T00:00:00Z', '2024-01-01', '2024-01-01T24:00:00Z', '2024-01-01T00:00:00'],
  ],
  ['date', ['2000-02-29'], ['1900-02-29', '2024-13-01', '2024-00-10', '24-01-01']],
  ['byte', ['aGk=', 'YWJj'], ['', 'a', 'aGk', '====', 'a b=']],
  ['ipv4', ['10.0.0.1', '010.0.0.01', '::ffff:10.0.0.1'], ['10.0.0', '256.0.0.1', '::1']],
  ['ipv6', ['::1', 'fe80::1:2'], ['10.0.0.1', 'fe80::1%eth0', ':::']],
  ['cidr', ['10.0.0.0/8', '010.0.0.0/08', '::/0'], ['10.0.0.0', '10.0.0.0/33', '256.0.0.0/8', '::/129']],
  [
    'mac',
    ['00:1a:2B:3c:4d:5e', '00-1a-2b-3c-4d-5e', '001a.2b3c.4d5e', '001a2b3c4d5e'],
    ['00:1a', '00:1a-2b:3c:4d:5e', '001a2b3c4d5e6f'],
  ],
  [
    'uuid',
    ['123e4567-e89b-12d3-a456-426614174000', '123e4567e89b12d3a456426614174000'],
    ['123e4567', 'g23e4567-e89b-12d3-a456-426614174000'],
  ],
  [
    'uuid4',
    ['123e4567-e89b-42d3-a456-426614174000'],
    ['123e4567-e89b-12d3-a456-426614174000', '123e4567-e89b-42d3-c456-426614174000'],
  ],
  ['uri', ['https://a.b/c?d', '/path', 'urn:x'], ['a.b', 'http:', 'a b', '/%zz']],
  ['hostname', ['a', 'a-b.example'], ['', 'a.b', 'a_b.example', '-a', 'a..b', 'a'.repeat(64)]],
  ['email', ['a@b.c', 'A B <a@b.c>', '"a b"@c.d'], ['a', '@b', 'a@b@c', 'a b@c']],
  [
    'duration',
    ['1h30m', '0', '-1.5s', '3 days', '1w', 'P1D', '1h 30'],
    ['', 'h', '1', '1x', '1'.repeat(60_000)],
  ],
  ['hexcolor', ['#fff', 'A0b1C2'], ['#ffff', 'xyz']],
  ['rgbcolor', ['rgb(0, 12,255)'], ['rgb(256,0,0)', 'rgb(1,2)']],
  ['ssn', ['123-45-6789', '123 45 6789'], ['123-456-789', '123456789']],
  ['bsonobjectid', ['0123456789abcdef01234567'], ['0123']],
  ['k8s-short-name', ['a-b'], ['a.b']],
  ['k8s-long-name', ['a.b'], ['A']],
  ['password', ['', 'anything'], []],
  ['of-our-own', ['anything'], []],
])('[V46] %s', (format, good, bad) => {
  for (const text of good) expect([text, hasFormat(format, text)]).toEqual([text, true]);
  for (const text of bad) expect([text, hasFormat(format, text)]).toEqual([text, false]);
});
