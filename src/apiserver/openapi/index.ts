/**
 * The OpenAPI documents of a server: `/openapi/v2` (JSON, and the protobuf form that older kubectl reads) and `/openapi/v3`
 * with one document per group version. Clients use them to validate, to explain, to merge and to find out whether the
 * server knows dry runs and field validation.
 *
 * Pure functions of the list of resources and the catalogue. Documents are built when asked for; what is kept between
 * requests is their hashes and the compressed v2 bodies.
 */
export { createOpenApi, type OpenApi, type PublishedResource } from './openapi.ts';
