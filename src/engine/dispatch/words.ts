/**
 * What can stand between an object and its cluster, one word each, with what it means. The words are those that users of
 * KubeFed know from their status; the first twelve arise on the spoke, the others at the hub, which alone knows of them.
 */
export const OBJECT_WORDS = {
  WaitingForRemoval: 'it was ordered away and is still there',
  CreationFailed: 'the API server refused to make it',
  UpdateFailed: 'the API server refused to change it',
  DeletionFailed: 'the API server refused to delete it, or it is protected',
  LabelRemovalFailed: 'the marks of a released object could not be taken off',
  RetrievalFailed: 'it could not be read',
  AlreadyExists: 'an object that this dispatch did not make is in its place',
  ManagedLabelFalse: 'the owner of the cluster keeps Atoll from it',
  ContractRefused: 'the contract of the cluster does not allow it',
  CreationTimedOut: 'the API server did not answer in time whether it was made',
  UpdateTimedOut: 'the API server did not answer in time whether it was changed',
  DeletionTimedOut: 'the API server did not answer in time whether it was deleted',
  LabelRemovalTimedOut: 'the API server did not answer in time whether the marks were taken off',
  FieldRetentionFailed: 'the fields that its cluster owns could not be told',
  ComputeResourceFailed: 'what it shall be could not be computed',
  ApplyOverridesFailed: 'an override of its cluster could not be applied',
  ClusterNotReady: 'its cluster is not ready',
  CachedRetrievalFailed: 'the copy of its cluster could not be read',
  VersionRetrievalFailed: 'the record of what was sent could not be read',
  ClientRetrievalFailed: 'its cluster cannot be reached',
  Propagated: 'nothing stands in the way',
} as const;

export type ObjectWord = keyof typeof OBJECT_WORDS;
