/**
 * Instances of spokes that have parts on the hub: nodes of kinds that only the hub serves. The hub reads on its spokes what they want
 * there (HubObjects), makes it in places of its own that belong to that spoke alone, and answers by a dispatch (HubReply). Who asks is
 * told by the link and by nothing else; what may be asked for by the definition that the hub itself sent there.
 *
 * What is made carries `kro.run/originating-cluster`, for people; the engine goes by the RemoteObject that remembers it.
 */

export { startCompositions } from './compositions.ts';
export { startCycles } from './cycles.ts';
