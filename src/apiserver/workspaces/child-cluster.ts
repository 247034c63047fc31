import { ROOT_CLUSTER } from '../server-options.ts';

/** The logical cluster of a workspace: its name, below that of the cluster where its object is. */
export function childCluster(parent: string, name: string): string {
  return parent === ROOT_CLUSTER ? name : `${parent}:${name}`;
}
