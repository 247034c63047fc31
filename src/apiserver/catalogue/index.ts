/**
 * What is known of the built-in kinds: resources with their names and verbs, schemas, printer columns, and the RBAC
 * objects of a new cluster.
 *
 * The facts are derived by `scripts/generate-catalogue.ts` and lie compressed in `data/`. Each part is read on first use
 * and kept parsed once per process; nothing in it may be changed. A missing or broken data file throws.
 */
export { bootstrapRbac } from './bootstrap-rbac.ts';
export { type Catalogue, type CatalogueResource, loadCatalogue } from './catalogue.ts';
export { DATA_DIRECTORY } from './data-file.ts';
export {
  builtDescriptions,
  type DefinitionTexts,
  type DescriptionReader,
  type Descriptions,
  descriptionsIn,
} from './descriptions.ts';
export { minorOf, NEWEST_RELEASE, RELEASES, type Release, servedIn } from './release.ts';
