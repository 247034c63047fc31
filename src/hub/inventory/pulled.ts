import type { SpokeFindings } from '../../dialects/kubevela/report.ts';
import { fleetRevision } from '../../engine/dispatch/index.ts';
import type { SpokeSession } from '../fleet.ts';

/** What a spoke says of itself, from the session's copies: nothing of it is asked for. */
export function pulledFrom(
  session: SpokeSession | undefined,
): Pick<
  SpokeFindings,
  'registered' | 'engine' | 'dispatchedRevision' | 'appliedRevision' | 'health' | 'properties'
> {
  const status = session?.cluster()?.status;
  if (session?.engine === false) return { engine: '' };
  const misnamed = session?.misnamed();
  if (misnamed !== undefined) return { registered: { ok: false, reason: 'NameMismatch', message: misnamed } };
  if (!session?.live || !status) return {};
  const dispatched = fleetRevision(
    session
      .dispatches()
      .map((item) => ({ name: item.metadata.name ?? '', generation: item.spec.position.generation })),
  );
  return {
    ...(status.engine === undefined ? {} : { engine: status.engine }),
    dispatchedRevision: dispatched,
    appliedRevision: status.appliedRevision ?? '',
    properties: status.properties ?? {},
    ...(status.health === undefined ? {} : { health: status.health }),
  };
}
