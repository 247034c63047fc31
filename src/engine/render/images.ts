import type { ImageOverride, ImagePartOverride } from '../intent.ts';

interface ImageParts {
  name: string;
  tag?: string;
  digest?: string;
}

/** `registry:5000/team/app:1.2@sha256:…` taken apart; a colon before the last slash is a port. */
export function splitImage(image: string): ImageParts {
  const at = image.indexOf('@');
  const digest = at < 0 ? undefined : image.slice(at + 1);
  const rest = at < 0 ? image : image.slice(0, at);
  const colon = rest.lastIndexOf(':');
  const hasTag = colon > rest.lastIndexOf('/');
  return {
    name: hasTag ? rest.slice(0, colon) : rest,
    ...(hasTag ? { tag: rest.slice(colon + 1) } : {}),
    ...(digest === undefined ? {} : { digest }),
  };
}

/** The image that the first change that means it makes of it; `undefined` where none does. */
export function changedImage(image: string, changes: readonly ImageOverride[]): string | undefined {
  const parts = splitImage(image);
  const change = changes.find(({ name }) => name === '*' || name === parts.name);
  if (!change) return undefined;
  const name = withRegistry(change.newName ?? parts.name, change.newRegistry);
  if (change.digest !== undefined) return `${name}@${change.digest}`;
  if (change.newTag !== undefined) return change.newTag === '' ? name : `${name}:${change.newTag}`;
  return `${name}${parts.tag === undefined ? '' : `:${parts.tag}`}${parts.digest === undefined ? '' : `@${parts.digest}`}`;
}

function withRegistry(name: string, registry: string | undefined): string {
  if (registry === undefined) return name;
  const [, path] = splitRegistry(name);
  return registry === '' ? path : `${registry}/${path}`;
}

/** A name without its tag as registry, `''` where there is none, and repository. */
function splitRegistry(name: string): [registry: string, repository: string] {
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  // As container runtimes tell a registry from the first part of a repository.
  const isRegistry = /[.:]/.test(first) || first === 'localhost';
  return isRegistry ? [first, name.slice(slash + 1)] : ['', name];
}

/** An image with one of its parts changed. Of tag and digest the digest counts where there is one. */
export function withImagePart(image: string, { part, op, value = '' }: ImagePartOverride): string {
  const { name, tag, digest } = splitImage(image);
  const [registry, path] = splitRegistry(name);
  const changed = (before: string): string => (op === 'add' ? before + value : op === 'remove' ? '' : value);
  const kept = `${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
  const version = part === 'Tag' ? versionText(changed(digest ?? tag ?? '')) : kept;
  const host = part === 'Registry' ? changed(registry) : registry;
  return `${host === '' ? '' : `${host}/`}${part === 'Repository' ? changed(path) : path}${version}`;
}

function versionText(version: string): string {
  if (version === '') return '';
  return /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-fA-F]{32,}$/.test(version) ? `@${version}` : `:${version}`;
}
