// Parts of the page that are loaded when they are first needed.

/**
 * A module that `load` fetches. `use(act)` calls back with it: at once where it is there.
 * @template T
 * @param {() => Promise<T>} load
 */
export function lazily(load) {
  /** @type {T|null} */
  let module = null;
  /** @type {Promise<T>|null} */
  let loading = null;
  return {
    /** @param {(module: T) => void} act */
    use(act) {
      if (module) {
        act(module);
        return;
      }
      loading ??= load();
      loading.then((loaded) => {
        module = loaded;
        act(loaded);
      }, () => {
        // Without it the text stays as it was typed; the next use asks again.
        loading = null;
      });
    },
  };
}
