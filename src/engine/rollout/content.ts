import { digestOf } from '../digest.ts';
import type { Intent } from '../intent.ts';

/** What an intent has beside its content: it is as the intent has it now, whichever revision a cluster has. */
type Circumstances =
  | 'source'
  | 'author'
  | 'placement'
  | 'suspend'
  | 'deletionBudget'
  | 'clusterBudget'
  | 'rollout'
  | 'revisionHistoryLimit';

/** What an intent asks for, whoever asks and wherever it goes: objects, overrides, and how they are divided and written. */
export type RevisionContent = Omit<Intent, Circumstances>;

export function contentOf(intent: Intent): RevisionContent {
  const {
    source: _source,
    author: _author,
    placement: _placement,
    suspend: _suspend,
    deletionBudget: _budget,
    clusterBudget: _clusters,
    rollout: _rollout,
    revisionHistoryLimit: _limit,
    ...content
  } = intent;
  return content;
}

/** The intent with the content of another revision. */
export function withContent(intent: Intent, content: RevisionContent): Intent {
  const { source, author, placement, suspend, deletionBudget, clusterBudget } = intent;
  return {
    ...content,
    source,
    ...(author === undefined ? {} : { author }),
    placement,
    suspend,
    deletionBudget,
    ...(clusterBudget === undefined ? {} : { clusterBudget }),
  };
}

/** The name of a revision: equal for equal content. */
export function revisionDigest(content: RevisionContent): string {
  return digestOf(content);
}
