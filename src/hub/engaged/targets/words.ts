/** On an object that was carried to a cluster by a Secret: the name of its RemoteObject, by which nobody else's is touched. */
export const CARRIED_LABEL = 'atoll.dev/remote-object';

/** Keeps a RemoteObject until its object is gone from its cluster. */
export const DIRECT_FINALIZER = 'atoll.dev/direct-object';
