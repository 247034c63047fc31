import { describe, expect, it } from 'vitest';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import {
  createBootstrapToken,
  decideEnrolment,
  decideRequest,
  pendingRequests,
} from '../../hub/join/index.ts';
import { createSigningRequest, requestKeyDigest } from '../../kube/pki.ts';
import { certificateSigningRequests } from '../../kube/well-known.ts';
import { spokeSubject } from '../../link/index.ts';
import type { Runtime } from '../../runtime/index.ts';
import { decideOn } from './accept.ts';
import {
  bootstrapToken,
  client,
  dial,
  holds,
  hubWith,
  isUp,
  listener,
  refused,
  runtime,
  SPOKE_CLUSTERS,
  tokenFor,
} from './joining.fixture.ts';

describe('a spoke that comes with a token for many', () => {
  it('[S14] is let in when its request is approved and it is accepted, and not before', async () => {
    const spoke = dial('edge', await hubWith({ '*': await bootstrapToken() }));
    await spoke.until(refused('waits for approval'));
    const cluster = await client.get<SpokeCluster>(SPOKE_CLUSTERS, 'default', 'edge');
    expect(cluster.spec.hubAcceptsClient).toBe(false);
    const [request] = await pendingRequests(client, 'edge');
    await decideRequest(runtime, client, request?.metadata.name ?? '', 'Approved', 'test');
    await spoke.until(refused('does not accept spoke edge'));
    expect(listener.links.size).toBe(0);
    await decideOn(runtime, client, 'edge');
    await isUp('edge');
    expect(await client.list(certificateSigningRequests, '')).toMatchObject({ items: [{}] });
  });

  it('[S15] needs nobody where its token is approved; not being accepted any more cuts its streams at once', async () => {
    const spoke = dial('edge', await hubWith({ '*': await bootstrapToken({ approved: true }) }));
    const link = await isUp('edge');
    await decideOn(runtime, client, 'edge', { deny: true });
    await holds(() => (link.up ? undefined : true));
    expect(link.state.reason).toBe('Disconnected');
    await spoke.until(refused('does not accept spoke edge'));
  });

  it('takes no name that somebody has without being asked, and none that its token does not allow', async () => {
    await tokenFor('edge');
    const approved = await hubWith({ '*': await bootstrapToken({ approved: true, names: ['edge*'] }) });
    await dial('edge', approved).until(refused('waits for approval'));
    await dial('core', approved).until(refused('for spokes named edge*'));
  });

  it('shares its name with no other that comes at once, wherever they are noted', async () => {
    for (const namespaces of [
      ['default', 'default'],
      ['default', 'atoll-system'],
    ]) {
      const spoke = `edge-${namespaces[1]}`;
      const enrolments = await Promise.all(
        namespaces.map(async (namespace) => {
          const options = { namespace, lifetimeMs: 60_000, names: ['*'], approved: true };
          const token = await createBootstrapToken(runtime, client, options);
          const { request } = await createSigningRequest(runtime, spokeSubject(spoke));
          return { spoke, token, request, keyDigest: await requestKeyDigest(request) };
        }),
      );
      const decide = (): Promise<unknown[]> =>
        Promise.all(
          enrolments.map(async (one) => {
            const decision = await decideEnrolment(runtime, client, one);
            return decision === true || (decision !== false && decision.allowed);
          }),
        );
      expect((await decide()).filter((allowed) => allowed).length).toBeLessThan(2);
      expect((await decide()).filter((allowed) => allowed).length).toBeLessThan(2);
      expect((await pendingRequests(client, spoke)).length).toBeGreaterThan(0);
    }
  });

  it('stays out when it is denied', async () => {
    const spoke = dial('edge', await hubWith({ '*': await bootstrapToken() }));
    await spoke.until(refused('waits for approval'));
    await decideOn(runtime, client, 'edge', { deny: true });
    await spoke.until(refused('denied the request'));
  });

  it('is let in by the name of its request only, under a name that was denied, or that a spoke has', async () => {
    const hub = await hubWith({ '*': await bootstrapToken() });
    const denied = dial('edge', hub);
    await denied.until(refused('waits for approval'));
    await decideOn(runtime, client, 'edge', { deny: true });
    await denied.until(refused('denied the request'));
    await tokenFor('core');
    for (const name of ['edge', 'core']) {
      const other = dial(name, hub);
      const said = await other.until(refused('waits for approval'));
      const [waits] = await pendingRequests(client, name);
      const request = waits?.metadata.name ?? '';
      expect(said.phase === 'waiting' && said.message).toContain(`the request ${request} to join as ${name}`);
      await expect(decideOn(runtime, client, name)).rejects.toThrow(
        `atoll accept ${name} --request ${request}`,
      );
      expect(await pendingRequests(client, name)).toHaveLength(1);
      await decideOn(runtime, client, name, { request });
      await other.until(({ phase }) => phase === 'up');
    }
  });

  it('[S16] adds no request where ten wait', async () => {
    const token = await bootstrapToken();
    for (let count = 0; count < 12; count += 1) {
      const { request } = await createSigningRequest(runtime, spokeSubject('edge'));
      const keyDigest = await requestKeyDigest(request);
      const decision = await decideEnrolment(runtime, client, { spoke: 'edge', token, keyDigest, request });
      expect(decision).toMatchObject({
        allowed: false,
        message: expect.stringContaining(count < 10 ? 'waits for approval' : '10 requests of it wait'),
      });
    }
    expect(await pendingRequests(client, 'edge')).toHaveLength(10);
    await expect(decideOn(runtime, client, 'edge')).rejects.toThrow('10 requests wait under the name edge');
  });

  it('is not let in by an approval of long ago, which may be of another machine’s time', async () => {
    const day = 86_400_000;
    const options = { namespace: 'default', lifetimeMs: 90 * day, names: ['*'], approved: false };
    const token = await createBootstrapToken(runtime, client, options);
    const { request } = await createSigningRequest(runtime, spokeSubject('edge'));
    const enrolment = { spoke: 'edge', token, request, keyDigest: await requestKeyDigest(request) };
    const in31Days = runtime.clock.now() + 31 * day;
    const later: Runtime = { ...runtime, clock: { ...runtime.clock, now: () => in31Days } };
    await decideEnrolment(runtime, client, enrolment);
    expect(await decideEnrolment(later, client, enrolment)).toMatchObject({
      message: expect.stringContaining('waits for approval'),
    });
    await decideOn(runtime, client, 'edge');
    expect(await decideEnrolment(runtime, client, enrolment)).toEqual({ allowed: true });
    expect(await decideEnrolment(later, client, enrolment)).toMatchObject({
      allowed: false,
      message: expect.stringContaining('is too old; at the hub: kubectl delete csr link-edge-'),
    });
  });

  it('is not let in by the approval of another key under the name of its request', async () => {
    const token = await bootstrapToken();
    const [mine, theirs] = await Promise.all(
      [1, 2].map(() => createSigningRequest(runtime, spokeSubject('edge'))),
    );
    const enrolment = {
      spoke: 'edge',
      token,
      request: mine?.request ?? '',
      keyDigest: await requestKeyDigest(mine?.request ?? ''),
    };
    await decideEnrolment(runtime, client, enrolment);
    const [request] = await pendingRequests(client, 'edge');
    const name = request?.metadata.name ?? '';
    await client.delete(certificateSigningRequests, '', name);
    await client.create(certificateSigningRequests, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name },
      spec: {
        signerName: 'atoll.dev/spoke-link',
        request: Buffer.from(theirs?.request ?? '').toString('base64'),
        usages: ['digital signature', 'client auth'],
      },
    });
    await decideRequest(runtime, client, name, 'Approved', 'test');
    expect(await decideEnrolment(runtime, client, enrolment)).toMatchObject({
      allowed: false,
      message: expect.stringContaining('for another key'),
    });
  });
});
