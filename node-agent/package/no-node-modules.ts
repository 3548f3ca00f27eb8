/** Makes electron-builder install and copy no packages, because the app is bundled. */
export default function noNodeModules(): Promise<boolean> {
  return Promise.resolve(false);
}
