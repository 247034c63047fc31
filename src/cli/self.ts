import type { Client } from '../kube/client.ts';
import { type Self, whoAmI } from '../kube/who-am-i.ts';

/** As whom a hub knows whoever runs the command. */
export async function selfAt(hub: Client): Promise<Self> {
  const self = await whoAmI(hub);
  if (!self) throw new Error('the hub does not say who you are');
  return self;
}
