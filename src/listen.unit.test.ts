import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { test } from 'node:test';
import { networkUrls } from './listen.ts';

function info(address: string, internal = false): NetworkInterfaceInfo {
  const rest = { address, netmask: '', mac: '', internal, cidr: null };
  return address.includes(':')
    ? { ...rest, family: 'IPv6', scopeid: 0 }
    : { ...rest, family: 'IPv4' };
}

const list = () => ({
  lo: [info('127.0.0.1', true), info('::1', true)],
  eth0: [info('192.0.2.7'), info('2001:db8::7'), info('fe80::7')],
});

const urls = (host: string): string[] => networkUrls(host, 8080, list);

function refuse(): never {
  throw new Error('uv_interface_addresses returned EAFNOSUPPORT');
}

test('other machines use the addresses of this one that the service listens on, and no link-local one', () => {
  assert.deepEqual(urls('0.0.0.0'), ['http://192.0.2.7:8080']);
  assert.deepEqual(urls('::'), ['http://192.0.2.7:8080', 'http://[2001:db8::7]:8080']);
  for (const host of ['127.0.0.1', '192.0.2.7', 'pets.example']) assert.deepEqual(urls(host), []);
});

test('a process that may not list the addresses starts without them', () => {
  assert.deepEqual(networkUrls('0.0.0.0', 8080, refuse), []);
});
