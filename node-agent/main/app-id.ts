/** Id of the app for notifications and the taskbar of Windows. The shortcut of the installer has the same id. */
export const appId = 'dev.outrigger.companion';
