import type { ImageOverride } from '../intent.ts';

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
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  // As container runtimes tell a registry from the first part of a repository.
  const path = /[.:]/.test(first) || first === 'localhost' ? name.slice(slash + 1) : name;
  return registry === '' ? path : `${registry}/${path}`;
}
