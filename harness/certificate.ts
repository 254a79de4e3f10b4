// Creates a self-signed certificate for 127.0.0.1 for each test, so that the repository has no private key.

import { generateKeyPairSync, sign } from 'node:crypto';

const LIFETIME_MS = 86_400_000;

export function newCertificate(): { certificate: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(identifier([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]));
  const name = sequence(
    field(0x31, sequence(identifier([0x55, 0x04, 0x03]), field(0x0c, Buffer.from('127.0.0.1')))),
  );
  const body = sequence(
    field(0xa0, field(0x02, Buffer.from([2]))),
    field(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(Date.now() - LIFETIME_MS), time(Date.now() + LIFETIME_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    field(0xa3, sequence(basicConstraints(), subjectAlternativeName([127, 0, 0, 1]))),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, algorithm, field(0x03, Buffer.from([0]), signature));
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

function basicConstraints(): Buffer {
  const isAuthority = sequence(field(0x01, Buffer.from([0xff])));
  return sequence(identifier([0x55, 0x1d, 0x13]), field(0x04, isAuthority));
}

function subjectAlternativeName(address: number[]): Buffer {
  const names = sequence(field(0x87, Buffer.from(address)));
  return sequence(identifier([0x55, 0x1d, 0x11]), field(0x04, names));
}

function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return field(0x17, Buffer.from(digits.slice(2)));
}

function identifier(bytes: number[]): Buffer {
  return field(0x06, Buffer.from(bytes));
}

function sequence(...parts: Buffer[]): Buffer {
  return field(0x30, ...parts);
}

/** One DER element: tag, length, content. */
function field(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  return Buffer.concat([Buffer.from([tag, ...sizeOf(length)]), content]);
}

/** The length in its shortest form, because strict parsers refuse any other. */
function sizeOf(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}
