/**
 * SimpleSchema: schemas in the short notation of kro, `replicas: integer | default=1 minimum=0`.
 *
 * {@link openApiOfSimpleSchema} makes an OpenAPI v3 schema of fields and custom types. Whatever is wrong is an issue that names the
 * field. Depth and size of the result are bounded.
 */
export { MARKERS, type Marker, type MarkerName, parseMarkers, splitLeaf } from './markers.ts';
export { MAX_SCHEMA_DEPTH, openApiOfSimpleSchema } from './simple-schema.ts';
