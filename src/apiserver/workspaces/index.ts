/**
 * Logical clusters as objects, for whoever manages them with the API. A Workspace in the cluster `a` is the logical cluster
 * `a:<name>` (in `root`: `<name>`), made when the object is and gone when it goes. Its WorkspaceType says what it begins with
 * and who has to be done before it is Ready. An APIExport names definitions that others may take over, an APIBinding takes
 * them over; the provider sees the objects of its consumers below `/clusters/<provider>/consumers/…`.
 *
 * The kinds are ordinary definitions in `root`, which every workspace has bound, so workspaces nest. Rights in another logical
 * cluster are asked for there: the verb `use` on a type, `bind` on an export. Controllers run once for all clusters and keep
 * no state; what cannot go on says why in its conditions.
 */
export { tenancyAdmission } from './admission.ts';
export { startWorkspaces } from './start-workspaces.ts';
