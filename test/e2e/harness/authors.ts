import { inject } from 'vitest';
import { parseAllDocuments } from 'yaml';

const KINDS = ['Propagation', 'ClusterPropagation'];

/**
 * Manifests as whoever runs these tests applies them. An API server with MutatingAdmissionPolicies writes down who writes a
 * Propagation; Kubernetes has them since 1.36, so that on older ones people name themselves, and are believed where it is true.
 */
export function authored(manifests: string): string {
  if (inject('servers') !== 'real') return manifests;
  const documents = parseAllDocuments(manifests);
  for (const document of documents)
    if (KINDS.includes(String(document.get('kind'))) && !document.hasIn(['spec', 'author']))
      document.setIn(['spec', 'author'], { username: 'admin', groups: ['system:masters'] });
  return documents.map(String).join('---\n');
}
