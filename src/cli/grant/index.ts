/** `atoll grant`: asks for, approves, shows and revokes what people may do on spokes for a while. */
export { approveGrant, createGrant, listGrants, type NewGrantOptions, revokeGrant } from './grants.ts';
